import { Counter, Gauge, type Histogram, type Registry } from 'prom-client'
import { isStoreDown } from '../../store/store-error.ts'
import type { OperationObserver, StoreHook } from '../../store/store-hooks.ts'
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
 * Counts every read and transaction, and times it from the call to its end.
 * `palisade_store_seconds`, `palisade_store_operations_total`, `palisade_store_waiting`,
 * `palisade_store_running`.
 */
export function createStoreMetrics(registry: Registry): StoreHook {
  const durations = createDurations(registry, {
    name: 'palisade_store_seconds',
    help: 'Time of a read or transaction, including its wait and commit',
    labelNames: ['operation'],
  })
  const rows = {
    read: createRow('read', durations),
    transaction: createRow('transaction', durations),
  }
  expose(registry, [rows.read, rows.transaction])
  return (operation) => (operation === 'ping' ? null : observe(rows[operation]))
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

function observe(row: Row): OperationObserver {
  const startedMs = performance.now()
  let isRunning = false
  row.waiting += 1
  return {
    onBegin() {
      isRunning = true
      row.waiting -= 1
      row.running += 1
    },
    onEnd(error) {
      if (isRunning) row.running -= 1
      else row.waiting -= 1
      count(row, outcomeOf(error))
      row.durations.observe({ operation: row.operation }, (performance.now() - startedMs) / 1000)
    },
  }
}

function count(row: Row, outcome: Outcome): void {
  row.outcomes.set(outcome, (row.outcomes.get(outcome) ?? 0) + 1)
}

/** An error of the work itself is a refusal, and its transaction is undone. */
function outcomeOf(error: unknown): Outcome {
  if (error === undefined) return 'done'
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
