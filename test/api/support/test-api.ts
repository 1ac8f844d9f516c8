/** The API in the test's own process, in front of a node, and a caller of it. */
import { type Api, type StartApiOptions, startApi } from '../../../src/api/api.ts'
import { TestTroupe, type Workers } from '../../support/test-troupe.ts'
import { contractProblem } from './contract.ts'

export interface Reply {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: whatever the API answers
  readonly body: any
}

export class TestApi implements AsyncDisposable {
  readonly troupe: TestTroupe
  readonly api: Api

  private constructor(troupe: TestTroupe, api: Api) {
    this.troupe = troupe
    this.api = api
  }

  static async start(workers: Workers, options: StartApiOptions = {}): Promise<TestApi> {
    const { partitions, webhooks } = options
    const troupe = await TestTroupe.start({
      workers,
      ...(partitions && { partitions, client: { partitions } }),
      ...(webhooks && { webhooks }),
    })
    const { redisUrl, namespace } = troupe
    return new TestApi(troupe, await startApi({ redisUrl, namespace, port: 0, ...options }))
  }

  url(path: string): string {
    return `${this.api.url}${path}`
  }

  async call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Reply> {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const init = { method, headers: { ...type, ...headers }, ...(body !== undefined && { body: JSON.stringify(body) }) }
    const reply = await fetch(this.url(path), init)
    const text = await reply.text()
    const isJson = /\bjson|\+json/.test(reply.headers.get('content-type') ?? '')
    const read = isJson ? JSON.parse(text) : text
    const problem = isJson ? contractProblem(method, path.split('?', 1)[0] as string, reply.status, read) : null
    if (problem !== null && reply.status !== 404) throw new Error(problem)
    return { status: reply.status, headers: reply.headers, body: read }
  }

  get(path: string, headers?: Record<string, string>): Promise<Reply> {
    return this.call('GET', path, undefined, headers)
  }

  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply> {
    return this.call('POST', path, body, headers)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.api.close()
    await this.troupe[Symbol.asyncDispose]()
  }
}
