import type { Store } from './store.ts'

export type StoreOperation = 'read' | 'transaction' | 'ping'

/**
 * Observes the operations of a store. Called when an operation is asked for; returns the observer
 * of this operation, or null to leave it out. Hooks change no operation and throw no error.
 */
export type StoreHook = (operation: StoreOperation) => OperationObserver | null

export interface OperationObserver {
  /** Told once the work begins, after its wait for a turn. A ping has no work. */
  onBegin?(): void
  /** Told once at the end, with the error of an operation that failed. */
  onEnd(error?: unknown): void
}

/** The same store, with each operation told to the hooks. */
export function withHooks(store: Store, hooks: readonly StoreHook[]): Store {
  async function observe<T>(
    operation: StoreOperation,
    run: (begin: () => void) => Promise<T>,
  ): Promise<T> {
    const observers = hooks.flatMap((hook) => hook(operation) ?? [])
    let hasBegun = false
    let failure: unknown
    try {
      return await run(() => {
        if (hasBegun) return
        hasBegun = true
        for (const observer of observers) observer.onBegin?.()
      })
    } catch (error) {
      failure = error
      throw error
    } finally {
      for (const observer of observers) observer.onEnd(failure)
    }
  }

  return {
    ...store,
    read: (work) =>
      observe('read', (begin) =>
        store.read((reader) => {
          begin()
          return work(reader)
        }),
      ),
    transaction: (work) =>
      observe('transaction', (begin) =>
        store.transaction((writer) => {
          begin()
          return work(writer)
        }),
      ),
    ping: () => observe('ping', () => store.ping()),
  }
}
