/** `troupe doctor`: checks Redis, nodes and queues, and says what to do about each fault. */
import type { Command } from 'commander'
import type { Finding, FindingLevel } from '../../client/health/finding.ts'
import { judge } from '../../client/health/findings.ts'
import type { Health } from '../../client/health/health.ts'
import type { Config } from '../../config.ts'
import { ConfigError, damageOf, TransientError } from '../../core/errors.ts'
import { redisPlace, serversOf } from '../../core/redis-url.ts'
import { count } from '../../words/amounts.ts'
import { findingText } from '../../words/finding-text.ts'
import { wrapText } from '../../words/text/text-width.ts'
import { endWith, exitCodes } from '../exit-code.ts'
import { configOf, connectMsMax, connectTo } from '../host/connection.ts'
import { addConnectionOptions, addExamples, type ConnectionFlags } from '../options.ts'
import { columnsOf, paint, print, printJson, safe, tell } from '../terminal/output.ts'

export function addDoctorCommand(program: Command): void {
  const command = program.command('doctor').description('check Redis, nodes and queues')
  addConnectionOptions(command)
  addExamples(command, [
    ['troupe doctor', 'for people'],
    ['troupe doctor --json | jq -c \'select(.level == "problem" or .type == "error")\'', 'for a monitor'],
  ])
  command.action(async (flags: ConnectionFlags) => {
    const config = await configOf(flags)
    if (!flags.json) print(`${paint('dim', `Redis at ${addressOf(config)}, namespace ${config.namespace}`)}\n`)
    const findings = await examine(config, flags).catch(async (thrown) => {
      // In a cluster some servers may answer all the same.
      if (thrown instanceof TransientError) tellAll(await examineServers(config), flags)
      throw thrown
    })
    tellAll(findings, flags)
    const has = (level: FindingLevel) => findings.filter((finding) => finding.level === level).length
    if (!flags.json) {
      print(`\n${count(has('problem'), 'problem')}, ${count(has('warning'), 'warning')}`)
      // A namespace that could not be looked at cannot be audited either.
      if (findings.some(({ code }) => code !== undefined))
        tell('To check that no message was lost or doubled, run: troupe audit')
    }
    endWith(has('problem') > 0 ? exitCodes.failed : exitCodes.ok)
  })
}

/** A finding, with its words; without a code if Redis could not be looked at. */
type ShownFinding = Partial<Pick<Finding, 'code' | 'facts' | 'workerIds' | 'command' | 'server' | 'servers'>> & {
  readonly level: FindingLevel
  readonly what: string
  readonly todo?: string
}

/** A Redis that troupe refuses to use is a finding here, not a wrong command; the same holds for keys that cannot be read. */
async function examine(config: Config, flags: ConnectionFlags): Promise<ShownFinding[]> {
  try {
    // It connects like a command that changes data, so that missing rights of the Redis user are a finding.
    return await examineAs('change', config, flags)
  } catch (thrown) {
    if (thrown instanceof ConfigError) {
      // A user who may only look sees the rest all the same.
      const others = await examineAs('look', config, flags).catch(() => [])
      return [{ level: 'problem', what: thrown.message }, ...others]
    }
    const damage = damageOf(thrown)
    const todo =
      'restore it; or remove it, and then cancel the sessions that troupe audit names: their workers would wait for ever'
    if (damage !== undefined) return [{ level: 'problem', what: `${damage}: another program overwrote it`, todo }]
    throw thrown
  }
}

async function examineAs(purpose: 'change' | 'look', config: Config, flags: ConnectionFlags): Promise<ShownFinding[]> {
  await using troupe = await connectTo(config, purpose)
  const health = await troupe.health()
  if (flags.json) printJson({ type: 'health', namespace: config.namespace, ...withoutInfo(health) })
  return judge(health).map((finding) => ({ ...finding, ...findingText(finding) }))
}

async function examineServers({ redisUrl, namespace }: Config): Promise<ShownFinding[]> {
  if (redisUrl === undefined) return []
  const { judgeServers } = await import('../../client/health/away.ts')
  const findings = await judgeServers(redisUrl, namespace, connectMsMax).catch(() => [])
  return findings.map((finding) => ({ ...finding, ...findingText(finding) }))
}

/** INFO is long, and Redis tells it better. */
function withoutInfo(health: Health): object {
  const short = <Facts extends { readonly info: object }>(facts: Facts) => {
    const { info: _, ...rest } = facts
    return rest
  }
  const servers = health.cluster?.servers.map((one) => ({ ...one, facts: one.facts && short(one.facts) }))
  return { ...health, redis: short(health.redis), cluster: health.cluster && { ...health.cluster, servers } }
}

function tellAll(findings: readonly ShownFinding[], { json }: ConnectionFlags): void {
  for (const finding of findings) {
    if (json) printJson({ type: 'finding', ...finding })
    else show(finding)
  }
}

const margin = 9
const styles = { ok: 'green', warning: 'yellow', problem: 'red' } as const

function show({ level, what, todo }: ShownFinding): void {
  const room = columnsOf(process.stdout) - margin
  const [first = '', ...more] = wrapText(safe(what), room)
  print(`${paint(styles[level], level.padEnd(margin - 2))}  ${first}`)
  for (const line of more) print(`${' '.repeat(margin)}${line}`)
  if (todo === undefined) return
  for (const [index, line] of wrapText(safe(todo), room - 2).entries()) {
    print(`${' '.repeat(margin)}${index === 0 ? paint('dim', '→') : ' '} ${line}`)
  }
}

/** Host and database, without user and password. */
function addressOf({ redisUrl }: Config): string {
  if (redisUrl === undefined) return 'its default address'
  const { sentinels, name } = redisPlace(redisUrl)
  if (sentinels !== undefined) {
    return safe(`${name} of the sentinels ${sentinels.map(({ host, port }) => `${host}:${port}`).join(', ')}`)
  }
  const servers = serversOf(redisUrl)
  if (servers.length > 1) return safe(`the cluster of ${servers.map((server) => new URL(server).host).join(', ')}`)
  if (!URL.canParse(redisUrl)) return 'the given address'
  const { host, pathname } = new URL(redisUrl)
  // A URL without a host may name it in its options.
  return safe(`${host}${pathname === '/' ? '' : pathname}`) || 'the given address'
}
