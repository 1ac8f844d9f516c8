/**
 * Duty: answer `GET /metrics` of a node. The API answers the same page at its own address.
 * METRICS-SERVER-1 It listens on the loopback address unless a host is named: the page names kinds, models and tools.
 */
import type { AddressInfo } from 'node:net'
import { ConfigError } from '../core/errors.ts'
import { metricsContentType } from './metrics-text.ts'

export interface MetricsAddress {
  readonly host?: string | undefined
  /** 0: any free port. */
  readonly port: number
}

export interface MetricsServer {
  readonly url: string
  close(): Promise<void>
}

export async function openMetricsServer(
  { host = '127.0.0.1', port }: MetricsAddress,
  page: () => Promise<string>,
): Promise<MetricsServer> {
  // Loaded here: a node without this page starts faster.
  const { createServer } = await import('node:http')
  const server = createServer({ requestTimeout: 10_000 }, (request, response) => {
    const isWanted = request.url?.split('?')[0] === '/metrics'
    if (request.method !== 'GET' || !isWanted) {
      response
        .writeHead(isWanted ? 405 : 404, { 'content-type': 'text/plain' })
        .end('GET /metrics is all that is here.\n')
      return
    }
    page().then(
      (text) => response.writeHead(200, { 'content-type': metricsContentType }).end(text),
      (error: unknown) => response.writeHead(500, { 'content-type': 'text/plain' }).end(`${String(error)}\n`),
    )
  })
  const { promise: isListening, resolve, reject } = Promise.withResolvers<void>()
  server.on('error', (error: NodeJS.ErrnoException) => {
    const taken = error.code === 'EADDRINUSE' ? 'another program listens there. Choose another port' : error.message
    reject(new ConfigError(`metrics cannot be served at ${host}:${port}: ${taken}.`))
  })
  server.listen(port, host, resolve)
  await isListening
  // The node ends when its own work is over, whoever still asks.
  server.unref()
  const { address, port: chosen, family } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${chosen}/metrics`,
    close: async () => {
      server.closeAllConnections()
      await new Promise<void>((done) => server.close(() => done()))
    },
  }
}
