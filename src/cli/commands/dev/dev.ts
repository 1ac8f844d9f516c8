/**
 * `troupe dev`: everything that one needs while writing workers, in one command: a Redis, a node whose code is reloaded, the API and the page, and
 * a prompt.
 */
import { randomInt } from 'node:crypto'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { Troupe } from '../../../client/client.ts'
import type { Config } from '../../../config.ts'
import { endWith } from '../../exit-code.ts'
import type { NodeSettings } from '../../host/child/messages.ts'
import { lastDrainMs, ReloadedNode } from '../../host/child/reloaded-node.ts'
import { SourceWatch } from '../../host/child/source-watch.ts'
import { connectTo } from '../../host/connection.ts'
import { demoRedis } from '../../host/demo-redis.ts'
import { type DevApi, startDevApi } from '../../host/dev-api.ts'
import { workersFolderDefault } from '../../host/worker-files.ts'
import {
  addConnectionOptions,
  addExamples,
  addModelOption,
  addNodeOptions,
  type NodeFlags,
  wholeNumber,
} from '../../options.ts'
import { commandEndMsMax, Interrupt } from '../../terminal/interrupt.ts'
import { pageOf, tell } from '../../terminal/output.ts'
import { StandingPrompt } from '../../terminal/standing-prompt.ts'
import { onSuddenEnd } from '../../terminal/sudden-end.ts'
import { kindLines, type Whereabouts, whereLines } from '../../view/dev/dev-lines.ts'
import { type ChaosOptions, chaos } from './chaos.ts'
import { DevReport } from './dev-report.ts'
import { DevTalk } from './talk.ts'

interface DevFlags extends NodeFlags {
  readonly port?: number
  readonly page: boolean
  readonly chaos?: number | true
}

const envFile = '.env'
const sessionsCounted = 100
/** The name by which the configuration knows the Redis of a folder. */
const folderAddress = 'folder'

const details = `
Without --redis-url it starts a Redis of its own, whose data are in .troupe/redis:
sessions survive a restart, and other commands find them with --redis-url folder.
The node runs in a process of its own. When a worker file, or a file that one
imports, or .env changes, the new code takes over: running turns end in the old
process, and sessions go on in the new one. Code that cannot be loaded changes
nothing; its error is printed once. Ctrl+C ends everything, and nothing is lost.`

export function addDevCommand(program: Command): void {
  const command = program
    .command('dev')
    .description('Redis, node, API and page for writing workers, in one command')
    .option(
      '--port <n>',
      'of the API and the page; default: TROUPE_PORT, else 7333, else the next one that is free',
      wholeNumber(0),
    )
    .option('--no-page', 'the API without the page')
    .option('--chaos [seed]', 'kill the node now and then, and say what was taken up again', wholeNumber(1))
  addConnectionOptions(addModelOption(addNodeOptions(command)), 'a Redis of its own')
  addExamples(command, [
    ['troupe dev', 'the worker files of ./workers'],
    ['troupe dev --workers agents --model openai/gpt-5', 'another folder, and a model for agents that name none'],
    ['troupe dev --chaos', 'see that killed nodes lose nothing'],
    ['troupe dev --json | jq -c .', 'what happens, as JSON lines'],
  ])
  command.addHelpText('after', details)
  command.action(dev)
}

async function dev(flags: DevFlags): Promise<void> {
  const file = resolve(envFile)
  const config = await devConfig(flags, file)
  const isJson = flags.json === true
  const report = new DevReport(isJson, pageOf(process.stderr), tell)
  using interrupt = new Interrupt(() => report.tell(endingText), lastDrainMs + commandEndMsMax)
  onSuddenEnd({ tell: (line) => report.tell(line) })
  await using redis = await interrupt.orThrow(demoRedis(config, () => {}, interrupt.signal))
  const settings = settingsOf(config, redis.url, flags)
  await using troupe = await interrupt.orThrow(connectTo({ ...config, redisUrl: redis.url }, 'create'))
  await using node = new ReloadedNode(settings, file, {
    onChange: report.changed,
    onLog: report.logged,
    onOutput: report.printed,
  })
  await using watch = await SourceWatch.open(
    [resolve(settings.workers), file],
    (files) => void node.reload(files),
    report.unwatched,
  )
  await using served = await interrupt.orThrow(
    startDevApi({ ...apiSettings(config, redis.url), port: config.port, page: flags.page ? undefined : false }),
  )
  await interrupt.orThrow(node.reload())
  node.watch(watch)
  report.object({
    type: 'ready',
    url: served.api.url,
    page: served.api.hasPage && flags.page ? served.api.url : null,
    redis: redis.description,
    pid: process.pid,
  })
  const isTyped = !isJson && StandingPrompt.isPossible()
  if (!isJson)
    await greet(report, node, placesOf(served, redis.description, flags), { troupe, isTyped, fate: redis.fate })
  const over = new AbortController()
  const killing =
    flags.chaos === undefined
      ? undefined
      : startChaos(flags.chaos, { troupe, node, report, signal: AbortSignal.any([over.signal, interrupt.signal]) })
  if (isTyped) await talk(troupe, node, report, interrupt)
  else await interrupt.first
  over.abort()
  await killing
  endWith(interrupt.exitCode)
}

const endingText = 'troupe: ending; sessions stay, and go on with the next `troupe dev` (Ctrl+C ends at once)'

/** `--chaos` alone takes any seed. */
function startChaos(given: number | true, options: Omit<ChaosOptions, 'seed'>): Promise<void> {
  const seed = given === true ? randomInt(1, 2 ** 31) : given
  options.report.tell(`troupe: chaos kills the node now and then; its seed is ${seed}`)
  return chaos({ ...options, seed })
}

function placesOf({ api, taken }: DevApi, redis: string, { page }: DevFlags): Whereabouts {
  const moved = taken === null ? '' : ` (port ${taken} is taken)`
  const pageText = api.hasPage ? `${api.url}${moved}` : 'not built: npm run build makes it'
  return [
    ...(page ? [['page', pageText] as const] : []),
    ['API', `${api.url}/v1${page && api.hasPage ? '' : moved}`],
    ['Redis', redis],
  ]
}

/** Talks until the person leaves. */
async function talk(troupe: Troupe, node: ReloadedNode, report: DevReport, interrupt: Interrupt): Promise<void> {
  const left = Promise.withResolvers<void>()
  await using conversation = new DevTalk({
    troupe,
    kinds: () => node.kinds,
    problems: () => node.problems,
    onEnd: left.resolve,
  })
  const speaking = report.through(conversation)
  conversation.begin()
  void interrupt.first.then(left.resolve)
  await left.promise
  speaking[Symbol.dispose]()
  conversation.prompt.leave()
  if (interrupt.signal.aborted) return
  report.tell(endingText)
  interrupt.ending()
}

async function devConfig(flags: DevFlags, file: string): Promise<Config> {
  const { environmentWith, readConfig } = await import('../../../config.ts')
  return readConfig(flags, environmentWith(file))
}

function settingsOf(
  { namespace, partitions, workers = workersFolderDefault }: Config,
  redisUrl: string,
  { model, prices, concurrency, logLevel }: DevFlags,
): NodeSettings {
  return { redisUrl, namespace, partitions, workers, flags: { model, prices, concurrency, logLevel } }
}

function apiSettings({ namespace, partitions, webhooks }: Config, redisUrl: string) {
  return { redisUrl, namespace, partitions, webhooks }
}

async function greet(
  report: DevReport,
  node: ReloadedNode,
  places: Whereabouts,
  { troupe, isTyped, fate }: { readonly troupe: Troupe; readonly isTyped: boolean; readonly fate: string },
): Promise<void> {
  const page = pageOf(process.stderr)
  const kinds = kindLines(node.kinds, node.problems, page)
  report.tell('', ...whereLines(places, page), '', ...(kinds.length === 0 ? [] : [...kinds, '']))
  const open = await troupe.sessions.list({ state: 'active', limit: sessionsCounted })
  const many = open.length === sessionsCounted ? `${open.length} or more` : String(open.length)
  const before =
    open.length === 0 ? '' : ` ${many} ${open.length === 1 ? 'session goes' : 'sessions go'} on from before`
  if (isTyped) report.tell(`${typeText(node.kinds.length)}; /help shows the rest.${before && `${before}: /sessions.`}`)
  else {
    const [{ kind } = { kind: '<kind>' }] = node.kinds
    const address = fate === 'in the folder' ? ` --redis-url ${folderAddress}` : ''
    report.tell(`In another terminal: troupe run ${kind} <message>${address}.${before && `${before}.`}`)
  }
  report.tell('')
}

function typeText(kinds: number): string {
  if (kinds === 0) return 'Write a worker file: it is loaded at once'
  return `Type ${kinds === 1 ? 'a message' : 'the name of a kind and a message'}`
}
