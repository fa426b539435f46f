//! Answers as tables and files of scores. One binary, because linking takes longer than running.

mod forms;
mod score;
