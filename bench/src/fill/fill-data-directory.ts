import { randomBytes } from 'node:crypto'
import { openDataDirectory } from '../../../server/src/operations/storage/data-directory.ts'
import { loadDeviceTokenKey } from '../../../server/src/identity/device/device-tokens.ts'
import { createLongTokens } from './fill-devices.ts'
import { fillOrganization, type Filled, type Shape } from './fill-organization.ts'

/** Creates a data directory with `count` organizations of one shape: `prefix-0`, `prefix-1`, …. */
export async function fillDataDirectory(
  directory: string,
  prefix: string,
  count: number,
  shape: Shape,
): Promise<Filled[]> {
  const store = openDataDirectory(directory)
  try {
    const tokens = createLongTokens(await loadDeviceTokenKey(store, randomBytes))
    const filled: Filled[] = []
    for (let n = 0; n < count; n += 1)
      filled.push(
        await store.transaction((writer) =>
          fillOrganization(writer, `${prefix}-${n}`, { ...shape, tokens }),
        ),
      )
    return filled
  } finally {
    await store.close()
  }
}
