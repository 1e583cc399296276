import type { Config } from '../config/config.ts'
import { openStore } from '../operations/storage/open-store.ts'
import type { OpenMode } from '../store/open-mode.ts'
import type { Store } from '../store/store.ts'

/** Opens the store for as long as `work` takes. */
export async function withStore(
  config: Config,
  mode: OpenMode,
  work: (store: Store) => Promise<void>,
): Promise<void> {
  const store = await openStore(config, mode)
  try {
    await work(store)
  } finally {
    await store.close()
  }
}
