import type { Store } from './store.ts'

const SECRET_BYTES = 32

/** The random value (32 bytes) that the store keeps under `name`, made at first use. */
export async function ensureSecret(
  store: Store,
  name: string,
  random: (bytes: number) => Uint8Array,
): Promise<Uint8Array> {
  const known = await store.read((reader) => reader.secrets.find(name))
  if (known !== null) return known
  return store.transaction(async (writer) => {
    // Another process may have been first.
    const existing = await writer.secrets.find(name)
    if (existing !== null) return existing
    const created = random(SECRET_BYTES)
    await writer.secrets.insert(name, created)
    return created
  })
}
