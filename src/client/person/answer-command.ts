/** Duty: the one place that knows which command answers which ask. */
import type { AskSort } from '../../core/worker/ask/ask.ts'

export function answerCommand(id: string, kind: AskSort): string {
  switch (kind) {
    case 'question':
      return `troupe ask answer ${id} <answer>`
    case 'approval':
      // Nobody should approve what they have not seen: this command prints the arguments, and says how to decide.
      return `troupe approval show ${id}`
    case 'signal':
      return `troupe ask answer ${id} '<json>'`
  }
}
