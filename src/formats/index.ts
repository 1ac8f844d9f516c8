/** The entry of the package for conversations of other programs, `troupe/formats`. */
export { saidIn } from '../core/history/said-in.ts'
export {
  formatNames,
  type ReadConversation,
  type ReadOptions,
  readConversation,
  type WrittenConversation,
  writeConversation,
} from './formats.ts'
