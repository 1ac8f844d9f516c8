/** Runs functions of lua/shared/ in Redis, as scripts have them, to compare them with their halves in TypeScript. */
import { readFileSync } from 'node:fs'
import type { Redis } from 'ioredis'

const folder = new URL('../../../src/store/lua/shared/', import.meta.url)

/** What an expression over `cases`, JSON that is decoded here and in no script of ours, says of each. `parts`: files, in their order. */
export async function runLua<Answer>(
  redis: Redis,
  parts: readonly string[],
  expression: string,
  cases: readonly unknown[],
): Promise<Answer[]> {
  const text = parts.map((part) => readFileSync(new URL(`${part}.lua`, folder), 'utf8'))
  const all = `
local answers = {}
for index, case in ipairs(cjson.decode(ARGV[1])) do
  local answer = ${expression}
  if answer == nil then answer = cjson.null end
  answers[index] = answer
end
return cjson.encode(answers)`
  return JSON.parse((await redis.eval([...text, all].join('\n'), 0, JSON.stringify(cases))) as string) as Answer[]
}
