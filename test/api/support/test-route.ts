/** A route of a test, which answers what the test wants. */
import { z } from 'zod'
import { type Route, route } from '../../../src/api/route.ts'

/** `GET /v1/<id>`, unless it says otherwise. */
export function testRoute(
  id: string,
  { method = 'GET', path = `/v1/${id}`, raw, handle }: Partial<Route> & Pick<Route, 'handle'>,
): Route {
  return route({
    id,
    method,
    path,
    right: 'read',
    tag: 'test',
    summary: 'Is there for a test',
    replies: { 200: z.string() },
    asksRedis: false,
    cli: { none: 'it is a test' },
    handle,
    ...(raw !== undefined && { raw }),
  })
}
