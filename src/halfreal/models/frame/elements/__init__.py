"""Elements of frames: each file holds its equations, its compiled state determination and how its row is made."""
