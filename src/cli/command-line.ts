/**
 * The process of a command. It ends the process itself, because a worker file of the user may have left a timer or a connection open.
 * The output of such a file goes to stderr, because stdout is data.
 */
import { Console } from 'node:console'
import { syncBuiltinESMExports } from 'node:module'
import { exitCodes } from './exit-code.ts'
import { asksForJson, runCommandLine } from './program.ts'
import { flush, surviveClosedPipes } from './terminal/output.ts'
import { endProcess, watchForSuddenEnd } from './terminal/sudden-end.ts'

surviveClosedPipes()
// This changes the existing console object, because a worker file may import it, or one of its functions, from `node:console`.
Object.assign(globalThis.console, new Console(process.stderr))
syncBuiltinESMExports()
const args = process.argv.slice(2)
watchForSuddenEnd(asksForJson(args))
const exitCode = await runCommandLine(args)
const isWritten = await flush()
endProcess(isWritten ? exitCode : exitCode || exitCodes.failed)
