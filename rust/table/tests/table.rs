//! Answers as tables, files of scores, and streams of stored tables. One binary, because linking takes longer than running.

mod export;
mod forms;
mod scan;
mod score;
mod shards;
