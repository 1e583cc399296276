import type { Connection } from '../sql/connection.ts'
import type { WriteCache } from '../sql/write-cache.ts'
import type { StoreReader, StoreWriter } from '../store.ts'
import type { Aggregate, WriterContext } from './aggregate.ts'
import { AGGREGATES, type Aggregates } from './aggregates.ts'
import { createBumpRevision } from './people/organization-rows.ts'

export type AggregateName = keyof Aggregates

const NAMES = Object.keys(AGGREGATES) as readonly AggregateName[]

/** `AGGREGATES` for code that treats each in the same way. */
export const ENTRIES: {
  readonly [Name in AggregateName]: Aggregate<StoreReader[Name], StoreWriter[Name], StoreWriter>
} = AGGREGATES

/** All readers of one connection, their statements prepared once. */
export function createReader(connection: Connection): StoreReader {
  return ofEach<StoreReader>((name) => ENTRIES[name].reader(connection))
}

/** All writers of one connection; they read the rows in `cache` without a query. */
export function createWriter(connection: Connection, cache: WriteCache): StoreWriter {
  const context: WriterContext = {
    cache,
    bumpRevision: createBumpRevision(connection, cache),
  }
  return ofEach<StoreWriter>((name) => ENTRIES[name].writer(connection, context))
}

/** Makes the member of each aggregate. */
export function ofEach<All extends Record<AggregateName, unknown>>(
  make: <Name extends AggregateName>(name: Name) => All[Name],
): All {
  // The types of keys and values are lost on the way; `make` has checked each pair.
  return Object.fromEntries(NAMES.map((name) => [name, make(name)])) as All
}

/** Makes the member of an aggregate when it is first used. */
export function ofEachUsed<All extends Record<AggregateName, unknown>>(
  make: <Name extends AggregateName>(name: Name) => All[Name],
): All {
  // As in `ofEach`: the getters of all names are on the prototype.
  return new MembersWhenUsed(make) as unknown as All
}

class MembersWhenUsed {
  readonly make: (name: AggregateName) => unknown
  readonly made: Partial<Record<AggregateName, unknown>> = {}

  constructor(make: (name: AggregateName) => unknown) {
    this.make = make
  }

  static {
    for (const name of NAMES)
      Object.defineProperty(MembersWhenUsed.prototype, name, {
        get(this: MembersWhenUsed) {
          return (this.made[name] ??= this.make(name))
        },
      })
  }
}
