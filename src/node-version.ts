/** Duty: refuse a Node that is too old, with one sentence, before a missing function looks like a fault of troupe. npm only warns. */
import { ConfigError } from './core/errors.ts'

/** As in package.json, which is missing beside an application that was bundled into one file. */
const nodeNeeded = '24.12'

/** Only the major version is checked, because an early minor version works with a warning of its own. */
export function checkNode(): void {
  const { node } = process.versions
  if (Number.parseInt(node, 10) >= Number.parseInt(nodeNeeded, 10)) return
  throw new ConfigError(
    `this is Node ${node}, and troupe needs ${nodeNeeded} or later: put that one first on the PATH.`,
  )
}
