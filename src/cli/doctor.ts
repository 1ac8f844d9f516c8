/** `troupe doctor`: whether Redis, nodes and queues are as they should be, and what to do where they are not. */
import type { Command } from 'commander'
import { ConfigError } from '../core/errors.ts'
import { configOf, connectTo } from './connection.ts'
import { exitCodes } from './exit-code.ts'
import { type Finding, judge } from './findings.ts'
import { addConnectionOptions, addExamples, type ConnectionFlags } from './options.ts'
import { dim, paint, print, printJson, safe } from './output.ts'

export function addDoctorCommand(program: Command): void {
  const command = program.command('doctor').description('check Redis, nodes and queues')
  addConnectionOptions(command)
  addExamples(command, [
    ['troupe doctor', 'for people'],
    ['troupe doctor --json | jq -c \'select(.level == "problem")\'', 'for a monitor'],
  ])
  command.action(async (flags: ConnectionFlags) => {
    const findings = await examine(flags)
    for (const finding of findings) {
      if (flags.json) printJson({ type: 'finding', ...finding })
      else show(finding)
    }
    const has = (level: Finding['level']) => findings.filter((finding) => finding.level === level).length
    if (!flags.json) print(`\n${has('problem')} problems, ${has('warning')} warnings`)
    process.exitCode = has('problem') > 0 ? exitCodes.failed : exitCodes.ok
  })
}

/** A Redis that troupe refuses to use is a finding here, not a wrong command. */
async function examine(flags: ConnectionFlags): Promise<Finding[]> {
  const config = await configOf(flags)
  try {
    await using troupe = await connectTo(config)
    const health = await troupe.health()
    if (flags.json) {
      const { info: _, ...redis } = health.redis
      printJson({ type: 'health', ...health, redis })
    }
    return judge(health)
  } catch (thrown) {
    if (thrown instanceof ConfigError) return [{ level: 'problem', what: thrown.message }]
    throw thrown
  }
}

const styles = { ok: 'green', warning: 'yellow', problem: 'red' } as const

function show({ level, what, todo }: Finding): void {
  print(`${paint(styles[level], level.padEnd(7))}  ${safe(what)}`)
  if (todo !== undefined) print(`${' '.repeat(9)}${dim('→')} ${safe(todo)}`)
}
