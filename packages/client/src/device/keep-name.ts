import type { Enrolment, KeptEnrolment } from '@palisade/protocol'

/** The enrolment for its file: with the name, which the answer lacks. */
export function keepName(enrolment: Enrolment, name: string | undefined): KeptEnrolment {
  return name === undefined ? enrolment : { ...enrolment, name }
}
