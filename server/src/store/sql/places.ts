/**
 * Places in their order as `,3,17,4,`, so that `LIKE '%,17,%'` finds one of them in the database
 * itself; an empty list gives an empty text.
 */
export function formatPlaces(places: readonly number[]): string {
  return places.length === 0 ? '' : `,${places.join()},`
}

export function parsePlaces(text: string): number[] {
  return text === '' ? [] : text.slice(1, -1).split(',').map(Number)
}
