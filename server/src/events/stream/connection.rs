//! One connection: its caller, its requests, its messages.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket};
use axum::http::StatusCode;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use headwater_state::{Caller, now_ms};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use super::dialogue::Dialogue;
use super::hub::CONNECTIONS_PER_KEY;
use super::link::{Link, LinkGuard};
use super::protocol::{self, Ending, MESSAGES_PER_SECOND, PATH, Request};
use crate::events::Events;
use crate::gateway::{Opening, Status};

/// The interval at which the connection is tested.
const PING: Duration = Duration::from_secs(20);
/// Tests in a row that may stay without an answer.
const MISSED: u32 = 2;

/// The reason why a connection is over.
pub(super) enum CloseReason {
    /// The server ends it.
    Ended(Ending),
    /// The client ends it.
    Closed,
    /// It is no more.
    Gone,
}

impl From<Ending> for CloseReason {
    fn from(ending: Ending) -> Self {
        Self::Ended(ending)
    }
}

/// The caller who opens a connection.
pub(crate) enum StreamCaller {
    /// A caller who showed a key or a ticket with the handshake, or need not.
    Known(Option<Caller>),
    /// A caller who must say it in the first message, and the address it comes from.
    Unknown(Box<Opening>, IpAddr),
}

/// Runs a connection to its end.
pub(crate) async fn run(socket: WebSocket, events: Events, comer: StreamCaller) {
    let (mut sink, mut stream) = socket.split();
    let link = Arc::new(Link::default());
    let (hub, times) = (events.hub(), events.stream_times());
    let number = hub.register(&link);
    let over = match admitted(&mut stream, &events, comer, (&link, number)).await {
        Ok(caller) => {
            let connection_id = uuid::Uuid::now_v7().to_string();
            link.push(protocol::welcome(&connection_id, CONNECTIONS_PER_KEY).into());
            let dialogue = Dialogue::new(events.clone(), Arc::clone(&link), connection_id, caller);
            converse(&mut sink, &mut stream, dialogue, &link).await
        }
        Err(over) => over,
    };
    let closing = async {
        match over {
            CloseReason::Ended(ending) => {
                let frame = CloseFrame { code: ending.code(), reason: Utf8Bytes::from_static(ending.reason()) };
                if sink.send(Message::Close(Some(frame))).await.is_ok() {
                    // The other side closes when it has read it.
                    while let Some(Ok(_)) = stream.next().await {}
                }
            }
            // The answer to its word is made already, and goes out with this. Whether it is read is the client's affair.
            CloseReason::Closed => drop(sink.close().await),
            CloseReason::Gone => {}
        }
    };
    // A client that does not read it is left.
    let _ = timeout(times.close, closing).await;
    hub.unregister(number);
}

/// Returns who opens the connection with this number, once that is known.
async fn admitted(
    stream: &mut SplitStream<WebSocket>,
    events: &Events,
    comer: StreamCaller,
    (link, number): (&Link, u64),
) -> Result<Option<Caller>, CloseReason> {
    let caller = match comer {
        StreamCaller::Known(caller) => caller,
        StreamCaller::Unknown(mut opening, address) => {
            let caller = tokio::select! {
                caller = introduced(stream, events, (&mut opening, address)) => caller,
                ending = link.ended() => Err(ending.into()),
            };
            // The audit says of it what it says of a handshake with a key.
            opening.end(match &caller {
                Ok(_) => StatusCode::SWITCHING_PROTOCOLS.as_u16(),
                Err(CloseReason::Ended(Ending::Draining)) => Status::ServiceUnavailable.http(),
                Err(CloseReason::Ended(_)) => Status::Unauthorized.http(),
                Err(CloseReason::Closed | CloseReason::Gone) => Status::ClientGone.http(),
            });
            Some(caller?)
        }
    };
    events.hub().admit(number, caller.clone())?;
    Ok(caller)
}

/// The first message says who it is.
async fn introduced(
    stream: &mut SplitStream<WebSocket>,
    events: &Events,
    (opening, address): (&mut Opening, IpAddr),
) -> Result<Caller, CloseReason> {
    let first = async {
        loop {
            match stream.next().await {
                Some(Ok(Message::Text(text))) => return Ok(text),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Binary(_))) => return Err(Ending::Unauthorized.into()),
                Some(Err(error)) => return Err(broken(&error)),
                Some(Ok(Message::Close(_))) => return Err(CloseReason::Closed),
                None => return Err(CloseReason::Gone),
            }
        }
    };
    let text = timeout(events.stream_times().auth, first).await.map_err(|_| Ending::AuthTimeout)??;
    let Ok(Request::Auth(key)) = Request::parse(&text) else { return Err(Ending::Unauthorized.into()) };
    let known = events
        .gateway()
        .state()
        .accounts()
        .identify(&key, now_ms() / 1000)
        .ok()
        .inspect(|caller| opening.identify(caller));
    known.filter(|caller| events.gateway().has_endpoint(caller, PATH)).ok_or_else(|| {
        events.gateway().note_refused_key(address);
        Ending::Unauthorized.into()
    })
}

/// Reads and writes at the same time: a client that does not read is still heard, and the other way round.
async fn converse(
    sink: &mut SplitSink<WebSocket, Message>,
    stream: &mut SplitStream<WebSocket>,
    mut dialogue: Dialogue,
    link: &Arc<Link>,
) -> CloseReason {
    let _guard = LinkGuard(Arc::clone(link));
    let missed = AtomicU32::new(0);
    let events = dialogue.events().clone();
    let over = tokio::select! {
        over = listen(stream, &mut dialogue, &missed) => over,
        over = speak(sink, link, &events, &missed) => over,
    };
    dialogue.end().await;
    over
}

/// Takes what the client says.
async fn listen(stream: &mut SplitStream<WebSocket>, dialogue: &mut Dialogue, missed: &AtomicU32) -> CloseReason {
    let mut last = VecDeque::with_capacity(MESSAGES_PER_SECOND);
    loop {
        let message = match stream.next().await {
            Some(Ok(message)) => message,
            Some(Err(error)) => return broken(&error),
            None => return CloseReason::Gone,
        };
        // Whatever comes shows that somebody is there.
        missed.store(0, Ordering::Relaxed);
        // Its answers to our pings are not its own choice.
        if !matches!(message, Message::Pong(_) | Message::Close(_)) {
            if last.len() == MESSAGES_PER_SECOND
                && last.pop_front().is_some_and(|first: Instant| first.elapsed() < Duration::from_secs(1))
            {
                return Ending::TooManyMessages.into();
            }
            last.push_back(Instant::now());
        }
        match message {
            Message::Text(text) => {
                if let Err(ending) = dialogue.hear(&text).await {
                    return ending.into();
                }
            }
            Message::Binary(_) => dialogue.refuse(None, "a message is text that holds one JSON object"),
            Message::Ping(_) | Message::Pong(_) => {}
            Message::Close(_) => return CloseReason::Closed,
        }
    }
}

/// Ends a connection that cannot be read, with a word to a client that is still there.
fn broken(error: &axum::Error) -> CloseReason {
    // The library that frames the messages has no name of its own here, its text has.
    let text = error.to_string();
    if text.starts_with("Space limit exceeded") {
        Ending::TooLarge.into()
    } else if text.starts_with("UTF-8 encoding error") {
        Ending::NotText.into()
    } else if text.starts_with("WebSocket protocol error") && !text.contains("without closing handshake") {
        Ending::Malformed.into()
    } else {
        CloseReason::Gone
    }
}

/// Sends the client what is queued for it, and checks now and then whether it is there.
async fn speak(
    sink: &mut SplitSink<WebSocket, Message>,
    link: &Link,
    events: &Events,
    missed: &AtomicU32,
) -> CloseReason {
    let every = |period: Duration| {
        let mut ticks = interval_at(Instant::now() + period, period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks
    };
    let times = events.stream_times();
    let mut pings = every(PING);
    let mut heartbeats = every(Duration::from_secs(protocol::HEARTBEAT_SECS));
    loop {
        let messages: Vec<Message> = tokio::select! {
            taken = link.take() => match taken {
                Ok(messages) => messages.into_iter().map(Message::Text).collect(),
                Err(ending) => return ending.into(),
            },
            _ = pings.tick() => {
                if missed.fetch_add(1, Ordering::Relaxed) >= MISSED {
                    return CloseReason::Gone;
                }
                vec![Message::Ping(axum::body::Bytes::new())]
            }
            _ = heartbeats.tick() => {
                vec![Message::Text(protocol::heartbeat(now_ms() / 1000, &events.hub().heads().get()).into())]
            }
        };
        let write = async {
            for message in messages {
                sink.feed(message).await?;
            }
            sink.flush().await
        };
        tokio::select! {
            written = timeout(times.write, write) => match written {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return CloseReason::Gone,
                Err(_) => return Ending::SlowConsumer.into(),
            },
            ending = link.ended() => return ending.into(),
        }
    }
}
