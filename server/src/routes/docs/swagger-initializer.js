// The badge of an outside validator is off, and a key that was typed in is not kept in the browser.
window.onload = () => {
  window.ui = SwaggerUIBundle({
    url: "/api-docs/openapi.json",
    dom_id: "#swagger-ui",
    deepLinking: true,
    displayRequestDuration: true,
    persistAuthorization: false,
    validatorUrl: "none",
  });
};
