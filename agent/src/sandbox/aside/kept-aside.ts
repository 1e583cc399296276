/** Why a name was taken away. */
export type AsideCause = 'denied' | 'guarded' | 'invalid' | 'repository'

/** A name that the command made, and the path at which people find it. */
export interface KeptAside {
  readonly path: string
  readonly aside: string
  readonly cause: AsideCause
}
