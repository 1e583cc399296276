/** The readings of each contender, by round. */
export type Readings<Name extends string, Reading> = Record<Name, Reading[]>

/**
 * Takes one reading of each contender per round, so that other load on the machine affects all of
 * them. A first round is discarded: it reads programs from disk and warms them up.
 */
export async function takeTurns<Name extends string, Reading>(
  rounds: number,
  contenders: Readonly<Record<Name, () => Promise<Reading>>>,
  afterRound: () => Promise<void> = () => Promise.resolve(),
): Promise<Readings<Name, Reading>> {
  const names = Object.keys(contenders) as Name[]
  const readings = Object.fromEntries(names.map((name) => [name, [] as Reading[]])) as Readings<
    Name,
    Reading
  >
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of names) {
      const reading = await contenders[name]()
      if (round > 0) readings[name].push(reading)
    }
    await afterRound()
  }
  return readings
}
