import { parseArgs } from 'node:util'
import { GROUPS, type Group } from './plan.ts'

export interface Options {
  readonly quick: boolean
  readonly only: Group | null
}

/** The command's arguments, or the sentence that says what is wrong with them. */
export function readOptions(argv: readonly string[]): Options | string {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: { quick: { type: 'boolean', default: false }, only: { type: 'string' } },
    })
    const { quick, only } = values
    if (only === undefined) return { quick, only: null }
    const group = GROUPS.find((name) => name === only)
    return group === undefined
      ? `\`--only ${only}\` names no group; write one of ${GROUPS.join(', ')}`
      : { quick, only: group }
  } catch (error) {
    const why = error instanceof Error ? error.message.split('.')[0] : String(error)
    return `${why ?? ''}; write \`[--quick] [--only ${GROUPS.join('|')}]\``
  }
}
