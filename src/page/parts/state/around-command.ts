/** Duty: find the command in the advice of a finding, which shows it once, in its place. */

/** What stands before and behind the command; null if the advice does not name it. */
export function aroundCommand(advice: string, command: string): readonly [before: string, behind: string] | null {
  for (const written of [`\`${command}\``, command]) {
    const at = advice.indexOf(written)
    if (at >= 0) return [advice.slice(0, at), advice.slice(at + written.length)]
  }
  return null
}
