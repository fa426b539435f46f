"""The widget of pictures; anywidget is looked for when one is asked for."""

from __future__ import annotations

from functools import cache
from types import new_class
from typing import TYPE_CHECKING, Any

from headwater import _headwater
from headwater.errors import Unsupported

if TYPE_CHECKING:
    from anywidget import AnyWidget

# The library gets its own `module`, so that a module loader of the notebook cannot capture it.
_MODULE = """
const cytoscape = (function () {{
  const module = {{ exports: {{}} }};
  const exports = module.exports;
  const define = undefined;
  {library}
  return module.exports;
}})();
{script}
function render({{ model, el }}) {{
  const shown = globalThis.HeadwaterGraph.show(el, model.get("graph"), {{
    cytoscape,
    onSelect(id) {{
      model.set("selected", id);
      model.save_changes();
    }},
  }});
  const follow = () => {{
    const id = model.get("selected");
    if (id !== shown.selected()) {{
      shown.select(id);
    }}
  }};
  model.on("change:selected", follow);
  follow();
  return () => {{
    model.off("change:selected", follow);
    shown.destroy();
  }};
}}
export default {{ render }};
"""


def picture_widget(graph: dict[str, Any]) -> AnyWidget:
    """Return a widget that shows a picture."""
    return _widget_class()(graph=graph)


@cache
def _widget_class() -> type[AnyWidget]:
    try:
        import anywidget  # noqa: PLC0415
        import traitlets  # noqa: PLC0415
    except ImportError as error:
        message = "widgets need anywidget: pip install 'headwater[widget]'; .html, .svg and .show() do without"
        raise Unsupported(message) from error
    library, script, style = _headwater.picture_component()

    members = {
        "__doc__": "A picture of a trace or of paths.",
        "__module__": __name__,
        "_esm": _MODULE.format(library=library, script=script),
        "_css": style,
        "graph": traitlets.Dict().tag(sync=True),
        "selected": traitlets.Unicode(None, allow_none=True).tag(sync=True),
    }
    made: type[AnyWidget] = new_class("PictureWidget", (anywidget.AnyWidget,), {}, lambda body: body.update(members))
    return made
