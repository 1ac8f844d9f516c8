/** Duty: the head of the OpenAPI document; its rest is made of the routes. */

export const documentInfo = {
  openapi: '3.1.0',
  info: {
    title: 'troupe',
    version: '1',
    description:
      'Sessions, workers and their approvals over HTTP. Errors are application/problem+json with the codes of the library.',
  },
  components: { securitySchemes: { token: { type: 'http' as const, scheme: 'bearer' } } },
  security: [{ token: [] }],
}
