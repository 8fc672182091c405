/** The annotation of a queue that names its carrier. */
export const carrierAnnotation = 'carrier'
