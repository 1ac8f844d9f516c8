/** `troupe ask …`: what workers ask of somebody outside, and the answers. */
import type { Command } from 'commander'
import { addGroup } from '../../group.ts'
import { addAnswerCommand } from './answer.ts'
import { addListCommand } from './list.ts'
import { addShowCommand } from './show.ts'

export function addAskCommands(program: Command): void {
  const group = addGroup(program, 'ask', 'questions of workers, and their answers', [
    ['troupe ask list', 'who waits for an answer, the longest first'],
    ['troupe ask show 0199…', 'one question, its form, and how it ended'],
    ['troupe ask answer 0199… yes', 'answer it: its worker goes on'],
  ])
  addListCommand(group)
  addShowCommand(group)
  addAnswerCommand(group)
}
