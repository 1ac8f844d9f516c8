/** `troupe token create|list|remove`: changes the file of access tokens. */
import type { Command } from 'commander'
import type { Ceiling } from '../../../api/guard/ceiling.ts'
import { type Right, rights } from '../../../api/guard/rights.ts'
import { didYouMean } from '../../../core/check/closest.ts'
import { InputError } from '../../../core/errors.ts'
import { type Allowance, limitNames, type SessionLimits } from '../../../core/policy.ts'
import type { Permissions } from '../../../core/worker/permissions.ts'
import { changeTokenFile, readTokenFile } from '../../host/token-file.ts'
import { addExamples, addJsonOption, amounts, limits, names, permissions, someOf } from '../../options.ts'
import { print, printJson, safe, tell } from '../../terminal/output.ts'

interface FileFlags {
  readonly file: string
  readonly json?: boolean
}

const fileDefault = 'tokens.json'

export function addTokenChanges(group: Command): void {
  const create = withFile(group.command('create'), 'make an access token, and print it once')
    .argument('<name>', 'who uses it: events name it')
    .requiredOption(
      '--rights <names>',
      'read: look; operate: create, send, change; decide: answer asks and approvals; admin: all (with commas between them)',
      someOf(rights),
    )
    .option('--kinds <names>', 'the token creates sessions of these kinds alone', names)
    .option('--models <names>', 'the token sets these models alone for an agent', names)
    .option('--queues <names>', 'results of its sessions go to these queues of BullMQ alone, or to addresses', names)
    .option('--limit <name=n,…>', `the most that each session of the token may have: ${limitNames.join(', ')}`, limits)
    .option(
      '--per-hour <name=n,…>',
      'at most this for all that it creates within an hour: sessions, modelCalls, tokens, toolCalls',
      amounts,
    )
    .option('--permissions <what=…>', 'the most that each session of the token may have, as for submit', permissions)
  addExamples(create, [
    ['troupe token create ci --rights operate | tail -1 > ci.token', 'the token alone is on stdout'],
    [
      'troupe token create shop --rights operate --kinds clerk --limit tokens=50000',
      'sessions of one kind, with a ceiling for each',
    ],
    [
      'troupe token create shop --rights operate --limit tokens=50000 --per-hour tokens=1000000',
      'and one for all that may be spent within an hour',
    ],
  ])
  create.action(createToken)
  withFile(group.command('list'), 'names and rights of the access tokens').action(listTokens)
  withFile(group.command('remove'), 'take an access token back')
    .argument('<name>', 'name of the token')
    .action(removeToken)
}

function withFile(command: Command, description: string): Command {
  return addJsonOption(command.description(description).option('--file <path>', 'the file of tokens', fileDefault))
}

interface CreateFlags extends FileFlags {
  readonly rights: readonly Right[]
  readonly kinds?: string[]
  readonly models?: string[]
  readonly queues?: string[]
  readonly limit?: Partial<SessionLimits>
  readonly perHour?: Partial<Allowance>
  readonly permissions?: Permissions
}

/** Undefined if nothing restricts the token. */
function ceilingOf({ kinds, models, queues, limit, perHour, permissions: most }: CreateFlags): Ceiling | undefined {
  const ceiling = {
    ...(kinds && { kinds }),
    ...(models && { models }),
    ...(queues && { queues }),
    ...(limit && { limits: limit }),
    ...(perHour && { perHour }),
    ...(most && { permissions: most }),
  }
  return Object.keys(ceiling).length === 0 ? undefined : (ceiling as Ceiling)
}

async function createToken(name: string, flags: CreateFlags): Promise<void> {
  const { newToken, tokenEntry } = await import('../../../api/guard/tokens.ts')
  const { token, entry } = newToken({ name, rights: flags.rights, ceiling: ceilingOf(flags) })
  const problem = tokenEntry.safeParse(entry).error?.issues[0]
  if (problem !== undefined) {
    const what = problem.path[0] === 'name' ? 'the name of a token' : problem.path.join('.')
    throw new InputError(`${what} ${problem.message}.`)
  }
  await changeTokenFile(flags.file, (entries) => {
    if (entries.some((known) => known.name === name))
      throw new InputError(`${flags.file} has a token named ${name}: remove it first, or choose another name.`)
    return [...entries, entry]
  })
  if (flags.json) printJson({ type: 'tokenCreated', name, rights: entry.rights, file: flags.file, token })
  else {
    tell(`The token of ${safe(name)} follows. Nobody can show it again: ${safe(flags.file)} only recognises it.`)
    print(token)
  }
}

async function listTokens(flags: FileFlags): Promise<void> {
  const entries = (await readTokenFile(flags.file)) ?? []
  for (const { name, rights, ceiling } of entries) {
    if (flags.json) printJson({ type: 'token', name, rights, ...(ceiling && { ceiling }) })
    else print(`${name}  ${rights.join(', ')}${ceiling === undefined ? '' : `  at most ${JSON.stringify(ceiling)}`}`)
  }
  if (entries.length === 0 && !flags.json) tell(`${safe(flags.file)} has no tokens.`)
}

async function removeToken(name: string, flags: FileFlags): Promise<void> {
  if ((await readTokenFile(flags.file)) === null)
    throw new InputError(`there is no token file ${flags.file}: name the one that troupe serve reads, with --file.`)
  await changeTokenFile(flags.file, (entries) => {
    const names = entries.map((entry) => entry.name)
    if (names.includes(name)) return entries.filter((entry) => entry.name !== name)
    throw new InputError(
      `${flags.file} has no token named ${name}; troupe token list shows those that it has.${didYouMean(name, names)}`,
    )
  })
  if (flags.json) printJson({ type: 'tokenRemoved', name, file: flags.file })
  else print(`${safe(name)} is removed from ${safe(flags.file)}`)
}
