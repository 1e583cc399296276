import type * as Sets from 'tuf-js/dist/store.js'
import type { TrustedMetadataStore } from 'tuf-js/dist/store.js'
import { rememberSignatures } from './remember-signatures.ts'
import type { IsSignature } from './signature.ts'

type Library = Pick<typeof Sets, 'TrustedMetadataStore'>

/** Sets of trusted metadata, in which tuf-js judges what comes. */
export interface TrustedSets {
  /** One that trusts the root, knows nothing else, and judges by the time of now. Rejects for a root that is none. */
  begin(root: string): Promise<TrustedMetadataStore>
}

/**
 * A set begins with a root that the machine trusts already, and tuf-js has it prove each time that it
 * signed itself: an eighth of an update. Here it proves that once; another text, anew.
 */
export function createTrustedSets(
  isSignature: IsSignature,
  // With the first set: what is on disk is enforced without the library, and loading it takes longer than that.
  load: () => Promise<Library> = () => import('tuf-js/dist/store.js'),
): TrustedSets {
  /** Kept: to find again what is loaded takes the loader longer than to parse a file. */
  let library: Promise<Library> | null = null
  let former: { readonly root: string; readonly set: TrustedMetadataStore } | null = null
  return {
    async begin(root) {
      library ??= load().catch((error: unknown) => {
        library = null
        throw error
      })
      const { TrustedMetadataStore: LibrarySet } = await library
      if (former?.root !== root) {
        const set = new LibrarySet(Buffer.from(root))
        rememberSignatures(set.root.signed.keys, isSignature)
        former = { root, set }
      }
      return beginAgain(former.set) ?? new LibrarySet(Buffer.from(root))
    },
  }
}

/** A set as its constructor makes it of the same root, later; null when it has other fields than those known here. */
function beginAgain(set: TrustedMetadataStore): TrustedMetadataStore | null {
  const fields = { trustedSet: { root: set.root }, referenceTime: new Date() }
  if (Object.keys(set).toSorted().join() !== Object.keys(fields).toSorted().join()) return null
  const prototype = Object.getPrototypeOf(set) as object
  return Object.assign(Object.create(prototype) as TrustedMetadataStore, fields)
}
