/**
 * Duty: start the HTTP API: `startApi`, which `troupe serve` and `troupe dev` call.
 * API-1 It listens on the loopback address, and elsewhere only with tokens.
 * API-2 `close` ends streams and waiting calls, and leaves nothing running.
 */
import { type ConnectOptions, connectRules } from '../client/connect-options.ts'
import { checkOptions, type Rules, wholeNumberRule, yesOrNo } from '../core/check/check-options.ts'
import { ConfigError } from '../core/errors.ts'
import type { LoggerLike } from '../log.ts'
import { buildApp } from './app/app.ts'
import { builtPage } from './app/page.ts'
import { isLoopback, KnownHosts } from './guard/origin.ts'
import { checkEntries, type TokenEntry, Tokens } from './guard/tokens.ts'
import { Server } from './server.ts'

export interface StartApiOptions {
  /** The environment is not read. Default: redis://127.0.0.1:6379. */
  readonly redisUrl?: string | undefined
  /** Keeps several troupes apart that share one Redis. Default: troupe. */
  readonly namespace?: string | undefined
  /** Refused if the namespace has another number. */
  readonly partitions?: number | undefined
  /** The address on which it listens. On another one than the loopback address it needs tokens. Default: 127.0.0.1. */
  readonly host?: string | undefined
  /** The port on which it listens; 0: one that is free. Default: 7333. */
  readonly port?: number | undefined
  /** Who may call: entries as `troupe token create` writes them. Default: only this machine may, and it may do everything. */
  readonly tokens?: readonly TokenEntry[] | undefined
  /** Names by which the server is called, beside its address: `troupe.example.com`. */
  readonly hostNames?: readonly string[] | undefined
  /** True if the server changes nothing. Default: false. */
  readonly isReadOnly?: boolean | undefined
  /** The page: its folder, or false for none. Default: the built one, if there is one. */
  readonly page?: string | false | undefined
  /** `allowPrivateAddresses`: endpoints of webhooks may be addresses of this machine and of private networks. Default: no. */
  readonly webhooks?: ConnectOptions['webhooks']
  /** Gets warnings and errors as `(fields, message)`: pino(), console, … Default: none. */
  readonly logger?: LoggerLike | undefined
  /** How many requests one caller may send within ten seconds. Default 1 000. */
  readonly rate?: number | undefined
}

export interface Api extends AsyncDisposable {
  /** `http://127.0.0.1:7333` */
  readonly url: string
  readonly port: number
  /** True if its page was built. */
  readonly hasPage: boolean
  /**
   * Sets other tokens from now on: streams of callers whose token is gone end. If a token is invalid, it throws a ConfigError and keeps the tokens as
   * they are.
   */
  setTokens(entries: readonly TokenEntry[]): void
  close(): Promise<void>
}

const defaultPort = 7_333
const defaultRate = 1_000

const {
  redisUrl: urlRule,
  namespace: namespaceRule,
  partitions: partitionsRule,
  webhooks: webhooksRule,
  logger: loggerRule,
} = connectRules

const apiRules: Rules<StartApiOptions> = {
  redisUrl: urlRule,
  namespace: namespaceRule,
  partitions: partitionsRule,
  webhooks: webhooksRule,
  logger: loggerRule,
  host: { expects: 'an address, like 127.0.0.1', fits: (value) => typeof value === 'string' && value !== '' },
  port: wholeNumberRule(0, 65_535),
  tokens: { expects: 'a list of tokens, as `troupe token create` writes them', fits: Array.isArray, isSecret: true },
  hostNames: {
    expects: "a list of names, like ['troupe.example.com']",
    fits: (value) => Array.isArray(value) && value.every((name) => typeof name === 'string'),
  },
  isReadOnly: yesOrNo,
  page: { expects: 'a folder, or false', fits: (value) => value === false || typeof value === 'string' },
  rate: wholeNumberRule(1, Number.MAX_SAFE_INTEGER),
}

/** Throws a ConfigError, or a TransientError (`store_unavailable`) when Redis cannot be reached. */
export async function startApi(options: StartApiOptions = {}): Promise<Api> {
  checkOptions('startApi', options, apiRules, ConfigError)
  const { host = '127.0.0.1', port = defaultPort, tokens: entries, isReadOnly = false, rate = defaultRate } = options
  const { redisUrl, namespace, partitions, webhooks, logger } = options
  if (!isLoopback(host) && (entries ?? []).length === 0)
    throw new ConfigError(
      `the API would listen on ${host}, where other machines reach it, and has no token: set TROUPE_TOKEN, name a file with --tokens, or leave out --host.`,
    )
  const tokens = entries === undefined ? null : new Tokens(checkEntries(entries, 'tokens of startApi'))
  const server = new Server({ redisUrl, namespace, partitions, webhooks, logger, isReadOnly })
  const page = options.page === false ? null : (options.page ?? builtPage())
  try {
    await server.reading()
    const hosts = new KnownHosts(host, options.hostNames ?? [])
    const app = await buildApp({ server, hosts, tokens, log: server.log, rate, page })
    await listen(app, host, port)
    const { port: bound } = app.server.address() as { readonly port: number }
    let closing: Promise<void> | undefined
    const close = () => {
      closing ??= (async () => {
        server.stop()
        await app.close()
        await server.close()
      })()
      return closing
    }
    return {
      url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
      port: bound,
      hasPage: page !== null,
      setTokens(next) {
        if (tokens === null)
          throw new ConfigError(
            'setTokens: this API was started without tokens and asks for none: start it with tokens.',
          )
        const known = checkEntries(next, 'tokens of setTokens')
        tokens.replace(known)
        server.streams.keep((caller) => tokens.knows(caller))
        server.keepActing(new Set(known.map(({ name }) => name)))
      },
      close,
      [Symbol.asyncDispose]: close,
    }
  } catch (error) {
    await server.close()
    throw error
  }
}

async function listen(app: Awaited<ReturnType<typeof buildApp>>, host: string, port: number): Promise<void> {
  try {
    await app.listen({ host, port })
  } catch (cause) {
    await app.close()
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'EADDRINUSE')
      throw new ConfigError(`port ${port} of ${host} is taken: choose another one with --port (0: any that is free).`, {
        cause,
      })
    throw new ConfigError(
      `the API cannot listen on port ${port} of ${host} (${code}): name an address of this machine with --host, and a port that you may use with --port.`,
      { cause },
    )
  }
}
