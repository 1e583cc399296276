import { Counter, Gauge, type Histogram, type Registry } from 'prom-client'
import { isStoreDown } from '../../store/store-error.ts'
import type { Store } from '../../store/store.ts'
import { createDurations } from './durations.ts'

type Operation = 'read' | 'transaction'
type Outcome = 'done' | 'refused' | 'unavailable'

interface Row {
  readonly operation: Operation
  readonly durations: Histogram<'operation'>
  readonly outcomes: Map<Outcome, number>
  waiting: number
  running: number
}

/**
 * The same store, with every read and transaction counted and timed from the call to its end.
 * `palisade_store_seconds`, `palisade_store_operations_total`, `palisade_store_waiting`,
 * `palisade_store_running`.
 */
export function createStoreObserver(registry: Registry): (store: Store) => Store {
  const durations = createDurations(registry, {
    name: 'palisade_store_seconds',
    help: 'Time of a read or transaction, including its wait and commit',
    labelNames: ['operation'],
  })
  const reads = createRow('read', durations)
  const transactions = createRow('transaction', durations)
  expose(registry, [reads, transactions])
  return (store) => ({
    ...store,
    read: (work) => observe(reads, (begun) => store.read(begun(work))),
    transaction: (work, lane) =>
      observe(transactions, (begun) => store.transaction(begun(work), lane)),
  })
}

function createRow(operation: Operation, durations: Histogram<'operation'>): Row {
  return {
    operation,
    durations,
    outcomes: new Map([
      ['done', 0],
      ['refused', 0],
      ['unavailable', 0],
    ]),
    waiting: 0,
    running: 0,
  }
}

/** `begun` wraps the work, so that waiting for one's turn is told from working. */
async function observe<T>(
  row: Row,
  run: (begun: <S, R>(work: (access: S) => Promise<R>) => (access: S) => Promise<R>) => Promise<T>,
): Promise<T> {
  const startedMs = performance.now()
  let isRunning = false
  row.waiting += 1
  try {
    const result = await run((work) => (access) => {
      if (!isRunning) {
        isRunning = true
        row.waiting -= 1
        row.running += 1
      }
      return work(access)
    })
    count(row, 'done')
    return result
  } catch (error) {
    count(row, outcomeOf(error))
    throw error
  } finally {
    if (isRunning) row.running -= 1
    else row.waiting -= 1
    row.durations.observe({ operation: row.operation }, (performance.now() - startedMs) / 1000)
  }
}

function count(row: Row, outcome: Outcome): void {
  row.outcomes.set(outcome, (row.outcomes.get(outcome) ?? 0) + 1)
}

/** An error of the work itself is a refusal, and its transaction is undone. */
function outcomeOf(error: unknown): Outcome {
  return isStoreDown(error) ? 'unavailable' : 'refused'
}

function expose(registry: Registry, rows: readonly Row[]): void {
  const registers = [registry]
  // oxlint-disable no-new -- they register themselves
  new Counter({
    name: 'palisade_store_operations_total',
    help: 'Reads and transactions: done, refused by their work, or store unavailable',
    labelNames: ['operation', 'outcome'],
    registers,
    collect() {
      this.reset()
      for (const { operation, outcomes } of rows)
        for (const [outcome, total] of outcomes) this.inc({ operation, outcome }, total)
    },
  })
  new Gauge({
    name: 'palisade_store_waiting',
    help: 'Reads and transactions waiting for their turn',
    labelNames: ['operation'],
    registers,
    collect() {
      for (const { operation, waiting } of rows) this.set({ operation }, waiting)
    },
  })
  new Gauge({
    name: 'palisade_store_running',
    help: 'Reads and transactions being executed or committed',
    labelNames: ['operation'],
    registers,
    collect() {
      for (const { operation, running } of rows) this.set({ operation }, running)
    },
  })
  // oxlint-enable no-new
}
