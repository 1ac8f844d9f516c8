/** A collector of OpenTelemetry: takes spans over HTTP as JSON, as the protocol says, and keeps them. */
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

type Value = {
  readonly [Type in 'stringValue' | 'intValue' | 'doubleValue' | 'boolValue']?: string | number | boolean
} & {
  readonly arrayValue?: { readonly values: readonly Value[] }
}

interface SentSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly attributes: readonly { readonly key: string; readonly value: Value }[]
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly status: { readonly code?: number }
}

interface Sent {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[] }[]
}

export interface CollectedSpan extends Omit<SentSpan, 'attributes'> {
  readonly attributes: Readonly<Record<string, unknown>>
  /** Which sender the spans came from: the last part of the address. */
  readonly from: string
}

export class Collector implements AsyncDisposable {
  readonly spans: CollectedSpan[] = []
  readonly #server: Server

  private constructor() {
    this.#server = createServer((request, response) => {
      void this.#take(request).then(
        () => response.end('{}'),
        () => response.writeHead(400).end(),
      )
    })
  }

  static async start(): Promise<Collector> {
    const collector = new Collector()
    await new Promise<void>((resolve) => collector.#server.listen(0, '127.0.0.1', resolve))
    return collector
  }

  url(from: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1/traces/${from}`
  }

  async #take(request: IncomingMessage): Promise<void> {
    const from = (request.url ?? '').split('/').at(-1) ?? ''
    const { resourceSpans } = (await json(request)) as Sent
    for (const { scopeSpans } of resourceSpans)
      for (const { spans } of scopeSpans)
        this.spans.push(...spans.map((span) => ({ ...span, from, attributes: read(span) })))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

function read({ attributes }: SentSpan): Readonly<Record<string, unknown>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, valueIn(value)]))
}

function valueIn({ arrayValue, ...value }: Value): unknown {
  return arrayValue === undefined ? Object.values(value)[0] : arrayValue.values.map(valueIn)
}
