import type { Config } from '../config/config.ts'
import { openStore } from '../open-store.ts'
import type { Store } from '../store/store.ts'

/** Opens the store for as long as `work` takes. */
export async function withStore(
  config: Config,
  work: (store: Store) => Promise<void>,
): Promise<void> {
  const store = await openStore(config)
  try {
    await work(store)
  } finally {
    await store.close()
  }
}
