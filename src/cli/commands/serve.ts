/** `troupe serve`: the HTTP API and the page, until a signal stops it. */
import type { Command } from 'commander'
import type { Api } from '../../api/api.ts'
import type { TokenEntry } from '../../api/guard/tokens.ts'
import type { Config } from '../../config.ts'
import { ConfigError } from '../../core/errors.ts'
import type { Logger } from '../../log.ts'
import { configOf } from '../host/connection.ts'
import { FileChanges } from '../host/file-changes.ts'
import { serviceLogger } from '../host/local-node.ts'
import { readTokenFile } from '../host/token-file.ts'
import { addConnectionOptions, addExamples, type NodeFlags, wholeNumber } from '../options.ts'
import { commandEndMsMax, Interrupt } from '../terminal/interrupt.ts'
import { print, printJson, safe, tell } from '../terminal/output.ts'
import { onSuddenEnd } from '../terminal/sudden-end.ts'

interface ServeFlags extends NodeFlags {
  readonly host?: string
  readonly port?: number
  readonly hostName?: readonly string[]
  readonly tokens?: string
  readonly readOnly?: boolean
  readonly page: boolean
}

export function addServeCommand(program: Command): void {
  const command = program
    .command('serve')
    .description('serve the HTTP API and the page')
    .option(
      '--host <address>',
      'where it listens; default: TROUPE_HOST, else 127.0.0.1, which only this machine reaches',
    )
    .option('--port <n>', 'default: TROUPE_PORT, else 7333; 0: any that is free', wholeNumber(0))
    .option('--host-name <name...>', 'names by which people and proxies call it, beside its address')
    .option(
      '--tokens <file>',
      'the tokens that it takes, as troupe token create writes them; read again when the file changes',
    )
    .option('--read-only', 'changes nothing, and needs a Redis user that may only read')
    .option('--no-page', 'the API alone')
    .option('--partitions <n>', 'number of partitions, when the namespace is used for the first time', wholeNumber(1))
    .option('--log-level <level>', 'trace, debug, info, warn, error, fatal or silent; default: info')
  addConnectionOptions(command)
  addExamples(command, [
    ['troupe serve', 'on this machine, without a token'],
    ['curl -s http://127.0.0.1:7333/v1/sessions', 'the newest sessions'],
    [
      'TROUPE_TOKEN=$(openssl rand -hex 32) troupe serve --host 0.0.0.0',
      'for others, with one token that may do everything',
    ],
    [
      'troupe serve --tokens tokens.json --host-name troupe.example.com',
      'behind a proxy, with tokens of several rights',
    ],
  ])
  command.addHelpText(
    'after',
    '\nIt listens on other addresses than those of this machine only with a token:\nTROUPE_TOKEN (the right admin), or --tokens. docs/api.md has all of it.',
  )
  command.action(serve)
}

async function serve(flags: ServeFlags): Promise<void> {
  const config = await configOf(flags)
  const logger = await serviceLogger(config, process.stderr.isTTY, tell)
  onSuddenEnd({ logger })
  using interrupt = new Interrupt(
    () => logger.info('stopping; another signal ends this process at once'),
    commandEndMsMax,
  )
  const { startApi } = await import('../../api/api.ts')
  const { redisUrl, namespace, partitions, webhooks, host, port } = config
  // From before the first read: a token that is removed while the server starts is a change.
  using changes = flags.tokens === undefined ? undefined : await FileChanges.since(flags.tokens)
  const tokens = await tokensOf(config, flags.tokens)
  await using api = await startApi({
    redisUrl,
    namespace,
    partitions,
    webhooks,
    host,
    port,
    tokens,
    hostNames: flags.hostName,
    isReadOnly: flags.readOnly,
    ...(!flags.page && { page: false as const }),
    logger,
  })
  changes?.tell(() => readTokensAgain(api, config, flags.tokens, logger))
  if (flags.json) printJson({ type: 'ready', url: api.url, pid: process.pid })
  else {
    print(`the API is at ${safe(api.url)}`)
    if (tokens === undefined)
      print('it needs no token: whoever reaches it may do everything, also through a proxy on this machine')
    if (flags.page && !api.hasPage) print('its page is not built: npm run build makes it')
  }
  await interrupt.first
}

/** Undefined: the server needs no token. */
async function tokensOf({ token }: Config, file: string | undefined): Promise<TokenEntry[] | undefined> {
  if (token === undefined && file === undefined) return undefined
  const { entryOf } = await import('../../api/guard/tokens.ts')
  const own = token === undefined ? [] : [entryOf(token, { name: 'TROUPE_TOKEN', rights: ['admin'] }, 'TROUPE_TOKEN')]
  if (file === undefined) return own
  const entries = await readTokenFile(file)
  if (entries === null) throw new ConfigError(`there is no token file ${file}: make one with \`troupe token create\`.`)
  return [...own, ...entries]
}

/** A file that cannot be read leaves the tokens as they are: a mistake while it is written must lock nobody out. */
function readTokensAgain(api: Api, config: Config, file: string | undefined, logger: Logger): void {
  tokensOf(config, file)
    .then((entries = []) => {
      api.setTokens(entries)
      logger.info({ tokens: entries.length }, 'the token file was read again')
    })
    .catch((error: unknown) =>
      logger.error(
        { error: String(error) },
        'the token file was not read: the tokens before hold. Put the file right and take a token back with `troupe token remove`, or end this server to lock out everybody',
      ),
    )
}
