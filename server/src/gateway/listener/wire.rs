//! The bytes of a connection, seen by its watchdog.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio_rustls::server::TlsStream;

use super::unread;
use super::watchdog::ConnectionWatchdog;

/// What every connection of HTTP/2 begins with, and no request of HTTP/1.1.
const HTTP2: &[u8] = b"PRI";

/// What bytes go through.
#[derive(Debug)]
pub(super) enum Wire {
    /// In clear.
    Plain(TcpStream),
    /// Under TLS.
    Tls(Box<TlsStream<TcpStream>>),
}

/// A wire with its watchdog. It holds the place of its connection, also after an upgrade took it elsewhere.
#[derive(Debug)]
pub(super) struct Watched {
    wire: Wire,
    watchdog: Arc<ConnectionWatchdog>,
    /// How much of [`HTTP2`] came, as long as nothing else did.
    begun: Option<usize>,
    /// What is written in place of what the connection was told to write, and how much of it is.
    instead: Option<(Vec<u8>, usize)>,
    _place: OwnedSemaphorePermit,
}

impl Watched {
    pub fn new(wire: Wire, watchdog: Arc<ConnectionWatchdog>, place: OwnedSemaphorePermit) -> Self {
        Self { wire, watchdog, begun: Some(0), instead: None, _place: place }
    }

    /// Looks at the first bytes, which may come one by one.
    fn tell_protocol(&mut self, new: &[u8]) {
        let Some(begun) = self.begun else { return };
        let expected = &HTTP2[begun..];
        if new.starts_with(expected) {
            self.watchdog.speaks_http2();
            self.begun = None;
        } else {
            self.begun = expected.starts_with(new).then_some(begun + new.len());
        }
    }

    fn poll_wire(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Wire::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        };
        self.note(bytes.len(), &written);
        written
    }

    /// Writes what goes in place of `length` bytes, which are written when all of it is.
    fn poll_instead(&mut self, cx: &mut Context<'_>, length: usize) -> Poll<io::Result<usize>> {
        while let Some((instead, done)) = self.instead.take() {
            let written = self.poll_wire(cx, &instead[done..]);
            let done = done + if let Poll::Ready(Ok(bytes)) = written { bytes } else { 0 };
            if done < instead.len() {
                self.instead = Some((instead, done));
            }
            match written {
                Poll::Ready(Ok(1..)) => {}
                other => return other,
            }
        }
        Poll::Ready(Ok(length))
    }

    fn note(&self, offered: usize, written: &Poll<io::Result<usize>>) {
        match written {
            Poll::Ready(Ok(taken)) => self.watchdog.wrote(offered, *taken),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.watchdog.wrote(offered.max(1), 0),
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
            self.tell_protocol(new);
            self.watchdog.heard();
        }
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.instead.is_none() {
            self.instead = unread::in_place_of(bytes).map(|instead| (instead, 0));
        }
        if self.instead.is_some() {
            return self.poll_instead(cx, bytes.len());
        }
        self.poll_wire(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length: usize = slices.iter().map(|slice| slice.len()).sum();
        // A refusal of the parser is written in one piece.
        if let [one] = slices {
            return self.poll_write(cx, one);
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
            Poll::Ready(Ok(())) => self.watchdog.flushed(),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.watchdog.holds_back(),
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
