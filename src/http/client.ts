/**
 * Duty: a typed client of the HTTP API: `GET`, `POST` and `PATCH` with the paths, queries and bodies that the API has.
 * HTTP-CLIENT-1 An answer that is no success is thrown, with the code of the problem.
 */
import createClient, { type Client } from 'openapi-fetch'
import type { paths } from './paths.ts'

export interface HttpOptions {
  /** Where the API is: `http://127.0.0.1:7333`. */
  readonly url: string
  /** An access token. A server without tokens needs none. */
  readonly token?: string | undefined
  /** Makes the requests. Default: the fetch of the platform. */
  readonly fetch?: ((request: Request) => Promise<Response>) | undefined
}

export type HttpTroupe = Client<paths>

/** What the API answered in place of a success. */
export class HttpProblem extends Error {
  override readonly name = 'HttpProblem'
  readonly status: number
  /** A code of the library, or one of HTTP: docs/api.md. */
  readonly code: string
  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** Does not connect yet. */
export function connectHttp({ url, token, fetch }: HttpOptions): HttpTroupe {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const client = createClient<paths>({
    baseUrl: url.replace(/\/+$/, ''),
    headers,
    ...(fetch !== undefined && { fetch }),
  })
  client.use({
    async onResponse({ response }) {
      if (!response.ok) throw await problemIn(response)
    },
  })
  return client
}

export async function problemIn(response: Response): Promise<HttpProblem> {
  const problem: unknown = await response.json().catch(() => null)
  const { code, detail } = Object(problem) as Record<string, unknown>
  return new HttpProblem(
    response.status,
    typeof code === 'string' ? code : 'unknown',
    typeof detail === 'string' ? detail : `the API answered ${response.status}`,
  )
}
