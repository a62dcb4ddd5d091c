mod reading;
mod rendering;
mod steps;
mod views;
