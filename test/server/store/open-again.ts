import type { Store } from '../../../server/src/store/store.ts'

/** Opens the store of one test; called again it opens the same data once more. */
export type OpenStore = () => Store | Promise<Store>
