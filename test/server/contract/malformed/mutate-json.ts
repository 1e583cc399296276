import type { Random } from '../../../../bench/src/workload/random.ts'
import { HOSTILE_NAMES, HOSTILE_VALUES } from './hostile-values.ts'

/** Returns a copy of the value with one change at any depth. */
export function mutateJson(random: Random, value: unknown): unknown {
  const isLeaf = typeof value !== 'object' || value === null
  if (isLeaf || random.next() < 0.15) return random.pick(HOSTILE_VALUES)
  return Array.isArray(value) ? mutateArray(random, value) : mutateObject(random, value)
}

function mutateArray(random: Random, values: readonly unknown[]): unknown[] {
  const index = random.integer(values.length + 1)
  if (index === values.length) return [...values, random.pick(HOSTILE_VALUES)]
  return values.with(index, mutateJson(random, values[index]))
}

function mutateObject(random: Random, value: object): object {
  const members = Object.entries(value)
  const [name, member] = members[random.integer(members.length)] ?? ['name', null]
  const { [name]: _removed, ...others } = value as Record<string, unknown>
  return random.weighted([
    [1, () => others],
    [1, () => ({ ...value, [random.pick(HOSTILE_NAMES)]: random.pick(HOSTILE_VALUES) })],
    [4, () => ({ ...value, [name]: mutateJson(random, member) })],
  ])()
}
