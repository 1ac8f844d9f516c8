/** A process that owns a part in a Redis: it prints what it got as JSON, and gives that back when its stdin ends. */
import { findOrStartRedis, type RedisWish } from '../../src/dev/redis.ts'

const redis = await findOrStartRedis(JSON.parse(process.argv[2] ?? '{}') as RedisWish)
const { url, how, description, pid } = redis
process.stdout.write(`${JSON.stringify({ url, how, description, pid })}\n`)
process.stdin.resume().once('end', () => void redis.stop())
