//! The bytes of a connection, seen by its pulse.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio_rustls::server::TlsStream;

use super::pulse::Pulse;

/// Bytes of answers that are sent in one piece.
const SMALL: usize = 2048;

/// What bytes go through.
#[derive(Debug)]
pub(super) enum Wire {
    /// In clear.
    Plain(TcpStream),
    /// Under TLS.
    Tls(Box<TlsStream<TcpStream>>),
}

/// A wire with its pulse. It holds the place of its connection, also after an upgrade took it elsewhere.
#[derive(Debug)]
pub(super) struct Watched {
    wire: Wire,
    pulse: Arc<Pulse>,
    is_new: bool,
    _place: OwnedSemaphorePermit,
}

impl Watched {
    pub fn new(wire: Wire, pulse: Arc<Pulse>, place: OwnedSemaphorePermit) -> Self {
        Self { wire, pulse, is_new: true, _place: place }
    }

    fn note(&self, offered: usize, written: &Poll<io::Result<usize>>) {
        match written {
            Poll::Ready(Ok(taken)) => self.pulse.wrote(offered, *taken),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.pulse.wrote(offered.max(1), 0),
        }
    }
}

impl AsyncRead for Watched {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Wire::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        };
        let new = &buffer.filled()[before..];
        if !new.is_empty() {
            if self.is_new && new.starts_with(b"PRI") {
                self.pulse.speaks_http2();
            }
            self.is_new = false;
            self.pulse.heard();
        }
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Wire::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        };
        self.note(bytes.len(), &written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // A small answer is one piece: to copy its head and body together takes less than to hand over both.
        let length: usize = slices.iter().map(|slice| slice.len()).sum();
        if slices.len() > 1 && length <= SMALL {
            let mut whole = Vec::with_capacity(length);
            for slice in slices {
                whole.extend_from_slice(slice);
            }
            return self.poll_write(cx, &whole);
        }
        let written = match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Wire::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
        };
        self.note(length, &written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        match &self.wire {
            Wire::Plain(stream) => stream.is_write_vectored(),
            Wire::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Wire::Tls(stream) => Pin::new(stream).poll_flush(cx),
        };
        match flushed {
            Poll::Ready(Ok(())) => self.pulse.flushed(),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.pulse.wrote(1, 0),
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Wire::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
