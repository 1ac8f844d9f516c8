import type { Command } from 'commander'

/** The first argument of most commands of endpoints. */
export function takesWebhook(command: Command): Command {
  return command.argument('<webhook>', 'id of the endpoint')
}
