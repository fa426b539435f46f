//! Pictures as PNG, with the embedded fonts alone.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use crate::PictureError;
use crate::fonts::{BOLD, REGULAR};

/// Pixels of the PNG per pixel of the SVG, unless the picture becomes too large.
const SCALE: f32 = 2.0;
/// Maximum width and height, in pixels: a picture of 12,000 by 12,000 takes 576 MB while it is drawn.
const MAX_SIDE: f32 = 12_000.0;

/// Draws an SVG.
pub(crate) fn png(svg: &str) -> Result<Vec<u8>, PictureError> {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(REGULAR.to_vec());
    fonts.load_font_data(BOLD.to_vec());
    let options = Options { fontdb: Arc::new(fonts), font_family: "DejaVu Sans".to_owned(), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|error| PictureError::Draw(error.to_string()))?;
    let size = tree.size();
    let scale = SCALE.min(MAX_SIDE / size.width()).min(MAX_SIDE / size.height());
    let scaled = size.to_int_size().scale_by(scale);
    let no_room = || PictureError::Draw(format!("a picture of {} by {} pixels", size.width(), size.height()));
    let scaled = scaled.ok_or_else(no_room)?;
    let mut pixels = Pixmap::new(scaled.width(), scaled.height()).ok_or_else(no_room)?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| PictureError::Draw(error.to_string()))
}
