/** `troupe token`: the access tokens of the API, in a file that `troupe serve --tokens` reads. */
import type { Command } from 'commander'
import { addGroup } from '../../group.ts'
import { addTokenChanges } from './change.ts'

export function addTokenCommands(program: Command): void {
  const group = addGroup(program, 'token', 'access tokens of the API: create, list, remove', [
    ['troupe token create ci --rights operate', 'for a program that creates sessions'],
    ['troupe token create ada --rights operate,decide', 'for a person who also approves'],
    ['troupe token list', 'names and rights'],
    ['troupe token remove ci', 'a server that runs takes it no more within a second'],
  ])
  addTokenChanges(group)
}
