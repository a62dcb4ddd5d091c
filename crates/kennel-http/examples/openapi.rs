//! Prints the OpenAPI document.

fn main() {
    print!("{}", kennel_http::openapi_document());
}
