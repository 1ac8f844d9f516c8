/** Loaded with `--import`: at its end a process tells on stderr which packages, and which parts of src/ or files of dist/, it has loaded, as one line of JSON. */
import { registerHooks } from 'node:module'

const loaded = new Set<string>()
registerHooks({
  load(url, context, next) {
    const name = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? /\/(src\/[^/]+|dist\/.+)/.exec(url)?.[1]
    if (name !== undefined) loaded.add(name)
    return next(url, context)
  },
})
process.on('exit', () => process.stderr.write(`${JSON.stringify([...loaded].toSorted())}\n`))
