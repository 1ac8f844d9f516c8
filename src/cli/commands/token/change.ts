/** `troupe token create|list|remove`: changes the file of access tokens. */
import { type Command, InvalidArgumentError } from 'commander'
import { type Right, rights } from '../../../api/guard/rights.ts'
import { didYouMean } from '../../../core/check/closest.ts'
import { InputError } from '../../../core/errors.ts'
import { readTokenFile, replaceTokenFile } from '../../host/token-file.ts'
import { addExamples, addJsonOption } from '../../options.ts'
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
      rightsIn,
    )
  addExamples(create, [
    ['troupe token create ci --rights operate | tail -1 > ci.token', 'the token alone is on stdout'],
  ])
  create.action(createToken)
  withFile(group.command('list'), 'names and rights of the access tokens').action(listTokens)
  withFile(group.command('remove'), 'take an access token back').argument('<name>', 'its name').action(removeToken)
}

function withFile(command: Command, description: string): Command {
  return addJsonOption(command.description(description).option('--file <path>', 'the file of tokens', fileDefault))
}

/** A parser for commander. */
function rightsIn(text: string): Right[] {
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.find((name) => !rights.includes(name as Right))
  if (unknown !== undefined) throw new InvalidArgumentError(`Expected some of ${rights.join(', ')}.`)
  return names as Right[]
}

async function createToken(name: string, flags: FileFlags & { readonly rights: readonly Right[] }): Promise<void> {
  const { newToken, tokenEntry } = await import('../../../api/guard/tokens.ts')
  const entries = (await readTokenFile(flags.file)) ?? []
  if (entries.some((entry) => entry.name === name))
    throw new InputError(`${flags.file} has a token named ${name}: remove it first, or choose another name.`)
  const { token, entry } = newToken({ name, rights: flags.rights })
  const problem = tokenEntry.safeParse(entry).error?.issues[0]
  if (problem !== undefined) throw new InputError(`the name of a token ${problem.message}.`)
  replaceTokenFile(flags.file, [...entries, entry])
  if (flags.json) printJson({ type: 'tokenCreated', name, rights: entry.rights, file: flags.file, token })
  else {
    tell(`The token of ${safe(name)} follows. Nobody can show it again: ${safe(flags.file)} only recognises it.`)
    print(token)
  }
}

async function listTokens(flags: FileFlags): Promise<void> {
  const entries = (await readTokenFile(flags.file)) ?? []
  for (const { name, rights } of entries) {
    if (flags.json) printJson({ type: 'token', name, rights })
    else print(`${name}  ${rights.join(', ')}`)
  }
  if (entries.length === 0 && !flags.json) tell(`${safe(flags.file)} has no tokens.`)
}

async function removeToken(name: string, flags: FileFlags): Promise<void> {
  const entries = await readTokenFile(flags.file)
  if (entries === null)
    throw new InputError(`there is no token file ${flags.file}: name the one that troupe serve reads, with --file.`)
  if (!entries.some((entry) => entry.name === name)) {
    const names = entries.map((entry) => entry.name)
    throw new InputError(
      `${flags.file} has no token named ${name}; troupe token list shows those that it has.${didYouMean(name, names)}`,
    )
  }
  replaceTokenFile(
    flags.file,
    entries.filter((entry) => entry.name !== name),
  )
  if (flags.json) printJson({ type: 'tokenRemoved', name, file: flags.file })
  else print(`${safe(name)} is removed from ${safe(flags.file)}`)
}
