import type { Config } from '../config/config.ts'
import { openStore } from '../operations/storage/open-store.ts'
import type { Opening } from '../store/opening.ts'
import type { Store } from '../store/store.ts'

/** Opens the store for as long as `work` takes. */
export async function withStore(
  config: Config,
  opening: Opening,
  work: (store: Store) => Promise<void>,
): Promise<void> {
  const store = await openStore(config, opening)
  try {
    await work(store)
  } finally {
    await store.close()
  }
}
