import type { Connection } from '../../../store/sql/connection.ts'
import { createSelectIn } from '../../../store/sql/select-in.ts'

/** The days, both inclusive, between which a tuple or a source has rows. */
export interface DaySpan {
  readonly first_day: number
  readonly last_day: number
}

interface Widening {
  readonly stored: DaySpan & { readonly id: number }
  readonly wanted: DaySpan
}

/** Widens stored spans to cover the wanted ones: one statement for each day, mostly none. */
export function createWidenDays(
  connection: Connection,
  table: 'tuples' | 'sources',
): (widenings: readonly Widening[]) => Promise<void> {
  const lower = createSelectIn(
    connection,
    (list) =>
      `UPDATE ${table} SET first_day = ? WHERE first_day > ? AND id IN (${list}) RETURNING id`,
    'everything',
  )
  const raise = createSelectIn(
    connection,
    (list) =>
      `UPDATE ${table} SET last_day = ? WHERE last_day < ? AND id IN (${list}) RETURNING id`,
    'everything',
  )
  return async (widenings) => {
    const earlier = widenings.filter(({ stored, wanted }) => wanted.first_day < stored.first_day)
    for (const [day, ids] of idsByDay(earlier, 'first_day')) await lower([day, day], ids)
    const later = widenings.filter(({ stored, wanted }) => wanted.last_day > stored.last_day)
    for (const [day, ids] of idsByDay(later, 'last_day')) await raise([day, day], ids)
  }
}

function idsByDay(
  widenings: readonly Widening[],
  end: keyof DaySpan,
): ReadonlyMap<number, readonly number[]> {
  const byDay = new Map<number, number[]>()
  for (const { stored, wanted } of widenings) {
    const ids = byDay.get(wanted[end])
    if (ids === undefined) byDay.set(wanted[end], [stored.id])
    else ids.push(stored.id)
  }
  return byDay
}
