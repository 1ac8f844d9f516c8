/** Duty: the words for partitions that a list lacks because their servers do not answer. */
export function lacksText(partitions: readonly number[]): string {
  const some = partitions.join(', ')
  const which = partitions.length === 1 ? `partition ${some}, which is` : `partitions ${some}, which are`
  return `the list lacks what is in ${which} away`
}
